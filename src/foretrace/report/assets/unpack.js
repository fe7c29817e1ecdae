// From a payload's text to its content and columns: base64, gzip, then planes of bytes (see report/page/pack.py).

/** The bytes behind base64 text. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

/** The bytes of a gzip text, unpacked by the browser. */
async function gunzip(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The content and the columns of the payload in the element with this id. */
async function unpack(id) {
  const element = document.getElementById(id);
  const data = await gunzip(element.textContent.trim());
  element.textContent = ""; // Unpacked, it need not lie in memory twice.
  const length = data[0] + data[1] * 0x100 + data[2] * 0x10000 + data[3] * 0x1000000;
  const content = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  return new Payload(content, data.subarray(4 + length));
}

class Payload {
  constructor(content, planes) {
    this.content = content;
    this.planes = planes;
  }

  /** A column as an array of this type; empty where there is none of that name. */
  column(name, Kind) {
    const place = this.content.columns[name];
    if (!place) return new Kind(0);
    const [start, count, planes, delta] = place;
    const values = new Kind(count);
    const data = this.planes;
    let before = 0;
    for (let at = 0; at < count; at++) {
      let value = 0;
      for (let plane = planes - 1; plane >= 0; plane--) value = value * 256 + data[start + plane * count + at];
      value = value % 2 ? -(value + 1) / 2 : value / 2;
      if (delta) before = value += before;
      values[at] = value;
    }
    return values;
  }
}
