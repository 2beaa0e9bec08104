// Copying to the clipboard. TensorBoard is often reached by plain http on another machine, where browsers offer no
// clipboard API; a hidden text field and the old command still work there.

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** What a menu says of it. */
export async function copyInWords(text: string): Promise<string> {
  return (await copyText(text)) ? "Copied" : "Copying is blocked here";
}

function copyBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "offscreen";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}
