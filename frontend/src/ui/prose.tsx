/** A text of the report: what stands between backticks in it is code. */
export function Prose({ text }: { text: string }) {
  const parts = text.split(/`([^`\n]+)`/);
  return <>{parts.map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}</>;
}
