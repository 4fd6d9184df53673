// SPDX-License-Identifier: Apache-2.0

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that a person wrote
  }
}

/// Returns what a link to the page names: #SOURCE/TARGET/TEXT, percent-encoded, such as #en/fr/Good%20morning. Each part
/// may be empty. Browsers do not send this part of an address to the server.
export function readLink(hash) {
  const [source = "", target = "", ...text] = hash.slice(1).split("/").map(decode);
  return { source, target, text: text.join("/") };
}
