import { selectView } from "../state/actions";
import { VIEWS, type View, view } from "../state/atoms";

const LABELS: Readonly<Record<View, string>> = {
  overview: "Overview",
  findings: "Findings",
  stages: "Stages",
  workers: "Workers",
  gaps: "Idle gaps",
  compare: "Compare",
  trace: "Trace",
};

export function Tabs() {
  const onKey = (event: KeyboardEvent): void => {
    const turn = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (turn === 0) return;
    const next = VIEWS[(VIEWS.indexOf(view.value) + turn + VIEWS.length) % VIEWS.length];
    if (next === undefined) return;
    selectView(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views" onKeyDown={onKey}>
      {VIEWS.map((name) => (
        <button
          key={name}
          id={`tab-${name}`}
          type="button"
          role="tab"
          aria-selected={view.value === name}
          aria-controls="view"
          tabIndex={view.value === name ? 0 : -1}
          data-testid={`tab-${name}`}
          onClick={() => selectView(name)}>
          {LABELS[name]}
        </button>
      ))}
    </div>
  );
}
