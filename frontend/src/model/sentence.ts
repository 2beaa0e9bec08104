/** A text of the report as a sentence of its own. */
export function asSentence(text: string): string {
  return text === "" || /[.:!?]$/.test(text) ? text : `${text}.`;
}

export function capitalised(label: string): string {
  return label.charAt(0).toUpperCase() + label.slice(1);
}
