import { type ComponentChildren, createContext } from "preact";
import { useContext } from "preact/hooks";

/** Which stages have a page to go to, and how to go there. */
export type StageWay = {
  readonly names: ReadonlySet<string>;
  /** Any of the names where it stands in a text as a word. */
  readonly inText: RegExp;
  readonly show: (name: string) => void;
};

/** Of what is on screen; null: names of stages are words there. */
export const StageWays = createContext<StageWay | null>(null);

export function stageWay(names: readonly string[], show: (name: string) => void): StageWay | null {
  if (names.length === 0) return null;
  // "read::open" also begins "read::open.cached": the longest is tried first.
  const longestFirst = names.toSorted((a, b) => b.length - a.length).map(escaped);
  return {
    names: new Set(names),
    inText: new RegExp(`(?<![\\w:.])(${longestFirst.join("|")})(?!\\w|::|\\.\\w)`),
    show,
  };
}

function escaped(name: string): string {
  return name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

type Props = {
  readonly name: string;
  /** What stands there; the name where nothing else is given. */
  readonly children?: ComponentChildren;
};

/** The name of a stage, wherever it stands: leads to the stage's page, if it has one. */
export function StageRef({ name, children = <Wrapping name={name} /> }: Props) {
  const way = useContext(StageWays);
  if (way === null || !way.names.has(name)) return <>{children}</>;
  return (
    <button
      type="button"
      class="link stage-ref"
      data-testid="stage-ref"
      title={`${name}: show it in Stages`}
      onClick={(event) => {
        // A row that it stands in leads elsewhere.
        event.stopPropagation();
        way.show(name);
      }}>
      {children}
    </button>
  );
}

/** Where there is little room, the next line begins after the kind. */
function Wrapping({ name }: { name: string }) {
  const end = name.indexOf("::") + 2;
  if (end < 2) return <>{name}</>;
  return (
    <>
      {name.slice(0, end)}
      <wbr />
      {name.slice(end)}
    </>
  );
}
