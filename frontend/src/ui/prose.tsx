import { useContext } from "preact/hooks";
import { StageRef, StageWays } from "./stage-ref";

/** A text of the report: what stands between backticks in it is code, and a stage's name leads to the stage. */
export function Prose({ text }: { text: string }) {
  const parts = text.split(/`([^`\n]+)`/);
  return <>{parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : <Words key={at} text={part} />))}</>;
}

function Words({ text }: { text: string }) {
  const way = useContext(StageWays);
  if (way === null) return <>{text}</>;
  return <>{text.split(way.inText).map((part, at) => (at % 2 === 1 ? <StageRef key={at} name={part} /> : part))}</>;
}
