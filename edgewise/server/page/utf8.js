// SPDX-License-Identifier: Apache-2.0

function utf8Size(codePoint) {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}

/// Returns, for each byte of the text in UTF-8 and for its end, the index of the UTF-16 code unit. The server counts
/// bytes, and JavaScript counts code units.
export function unitsOfBytes(text) {
  const units = [];
  let unit = 0;
  for (const character of text) {
    const size = utf8Size(character.codePointAt(0));
    for (let i = 0; i < size; ++i) units.push(unit);
    unit += character.length;
  }
  units.push(unit);
  return units;
}

/// Converts ranges [begin, end) of bytes of the text to ranges {begin, end} of code units.
export function unitRanges(text, byteRanges) {
  const units = unitsOfBytes(text);
  const unitOf = (byte) => units[Math.min(byte, units.length - 1)];
  return byteRanges.map(([begin, end]) => ({ begin: unitOf(begin), end: unitOf(end) }));
}
