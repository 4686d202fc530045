// Tags: those that the phone is held to while the page is open, where the browser reads them.
const ADDRESS = /^https?:\/\/[^/]+\/tag\/([^/?#]+)\/?(?:[?#].*)?$/;

function idOf({message, serialNumber}) {
  const addresses = message.records
    .filter(each => each.recordType === "url" || each.recordType === "absolute-url")
    .map(each => ADDRESS.exec(new TextDecoder().decode(each.data)));
  const found = addresses.find(Boolean);
  return found ? decodeURIComponent(found[1]) : serialNumber;
}

// Tells each id until the returned function is called.
export async function readTags(tell) {
  const ends = new AbortController();
  const reader = new NDEFReader();
  reader.addEventListener("reading", event => tell(idOf(event)));
  await reader.scan({signal: ends.signal});
  return () => ends.abort();
}
