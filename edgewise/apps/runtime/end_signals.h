// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise {

/// A signal that asks the program to end: the first one, the same or another one within a second of the first, or a
/// later one. A repetition is no second request, because a closing terminal and some programs, such as `timeout`, send
/// a signal twice.
enum class EndSignal { kFirst, kRepetition, kSecond };

/// Tells what `signal` is, and remembers the first one. Signal handlers may call this function.
EndSignal classify_end_signal(int signal);

/// Returns the first signal, or 0 if there was none.
int first_end_signal();

/// Makes the next signal the first one.
void forget_end_signals();

}  // namespace edgewise
