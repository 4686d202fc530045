// What is attached to a message: pictures go with it, the words of text files into it.
import { t } from "./texts.js";
import { toast } from "./ui.js";

const IMAGE_LIMIT = 10_485_760;
const TEXT_LIMIT = 100_000;

/** A button that takes something away again. */
export function crossed(label, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.ariaLabel = label;
  button.title = label;
  button.textContent = "×";
  button.addEventListener("click", act);
  return button;
}

/**
 * Let files be chosen, pasted into a box and dropped on an area.
 * @param {HTMLTextAreaElement} box
 * @param {HTMLElement} area
 * @param {(text: string) => void} say puts words into the box
 */
export function attaches(box, area, say) {
  const files = [];
  const place = document.getElementById("attached");
  const picker = document.getElementById("files");

  async function add(chosen) {
    for (const file of chosen) {
      if (/^image\/(png|jpeg|gif|webp)$/.test(file.type)) {
        if (file.size > IMAGE_LIMIT) { toast(t("{name} is too large.", { name: file.name })); continue; }
        const url = await new Promise((resolve) => {
          const reader = new FileReader();
          reader.addEventListener("load", () => resolve(reader.result));
          reader.readAsDataURL(file);
        });
        files.push({ mimeType: file.type, fileName: file.name, content: url.split(",")[1] });
      } else if (file.size > TEXT_LIMIT) toast(t("{name} is too large.", { name: file.name }));
      else {
        const text = await file.text();
        if (text.includes("\0")) toast(t("{name} is no picture and no text.", { name: file.name }));
        else say(`${file.name}:\n\`\`\`\n${text.trimEnd()}\n\`\`\``);
      }
    }
    show();
    box.focus();
  }

  function show() {
    place.replaceChildren(...files.map((file) => {
      const chip = document.createElement("li");
      chip.className = "chip";
      chip.append(file.fileName, crossed(t("Remove {name}", { name: file.fileName }), () => {
        files.splice(files.indexOf(file), 1);
        show();
      }));
      return chip;
    }));
    place.hidden = !files.length;
    box.required = !files.length;
  }

  document.querySelector("[data-attach]")?.addEventListener("click", () => picker.click());
  picker?.addEventListener("change", () => { add([...picker.files]); picker.value = ""; });
  box.addEventListener("paste", (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    add([...event.clipboardData.files]);
  });
  for (const name of ["dragover", "dragleave", "drop"]) {
    area.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      area.classList.toggle("dragging", name === "dragover");
      if (name === "drop") add([...event.dataTransfer.files]);
    });
  }
  return {
    files,
    take() { const taken = files.splice(0); show(); return taken; },
    give(returned) { files.push(...returned); show(); },
  };
}
