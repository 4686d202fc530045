// Home: Enter sends what is written.
document.addEventListener("keydown", (event) => {
  if (event.target.id !== "message" || event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});
