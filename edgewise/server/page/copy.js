// SPDX-License-Identifier: Apache-2.0

/// Copies the text of a TextBox. Returns whether the browser has copied the text.
export async function copyText(box) {
  try {
    await navigator.clipboard.writeText(box.text);
    return true;
  } catch {
    // Without TLS, pages of other machines have no clipboard, but browsers still copy a selection.
    box.select();
    return document.execCommand("copy");
  }
}
