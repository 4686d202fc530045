// A picture of an element, drawn by the browser from a copy of it; what is loaded from elsewhere is left blank.
(() => {
  const ELEMENTS_LIMIT = 3_000;
  const WIDTH_LIMIT = 1_600;
  const HEIGHT_LIMIT = 2_400;

  globalThis.pictureOf = async (element) => {
    const copy = element.cloneNode(true);
    const [from, to] = [element, copy].map((each) => [each, ...each.querySelectorAll("*")]);
    if (from.length > ELEMENTS_LIMIT) return "";
    from.forEach((each, at) => {
      const style = getComputedStyle(each);
      to[at].style.cssText = [...style].map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
      if ("value" in each && each.tagName === "INPUT") to[at].setAttribute("value", each.value);
    });
    for (const each of copy.querySelectorAll("script, iframe, link, style, img, video, audio, object")) each.remove();
    const width = Math.min(Math.max(element.scrollWidth, 1), WIDTH_LIMIT);
    const height = Math.min(Math.max(element.scrollHeight, 1), HEIGHT_LIMIT);
    const inner = new XMLSerializer().serializeToString(copy);
    const size = `width="${width}" height="${height}"`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" ${size}><foreignObject ${size}>${inner}</foreignObject></svg>`;
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d");
    context.fillStyle = "white";
    context.fillRect(0, 0, width, height);
    context.drawImage(image, 0, 0);
    return canvas.toDataURL("image/png");
  };
})();
