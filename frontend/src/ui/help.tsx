import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import {
  CAUSES,
  CONFIDENCES,
  COSTS,
  KEYS,
  NO_STAGES,
  PATTERNS,
  RANK_CAUSES,
  SEVERITIES,
  STAGE_KINDS,
  TERMS,
  TRANSFER_PARTS,
} from "../contract/words";

const DOCS: ReadonlyArray<readonly [file: string, about: string]> = [
  ["docs/capture.md", "ways to capture, and what they cost"],
  ["docs/report.md", "the views, and the commands that show the same"],
  ["docs/attribution.md", "how idle time gets its cause, and data wait its stage"],
  ["docs/accuracy.md", "how well the numbers hold"],
  ["docs/compare_statistics.md", "how two captures are compared"],
  ["docs/lines.md", "lines of code, and how they are sampled"],
  ["docs/ranks.md", "which rank holds up the others, and work that is wasted"],
  ["docs/watch.md", "the whole run, always on"],
  ["docs/whatif.md", "predictions of a change"],
  ["docs/readers.md", "which libraries are seen by themselves"],
];

const NOT_CAUSED = [...NO_STAGES, ...TRANSFER_PARTS];

interface HelpProps {
  readonly print: () => void;
  /** Where a document can be read; null without a server. */
  readonly urlOf: ((file: string) => string) | null;
}

/** Keys and terms: by a button, and by "?" wherever nobody types. */
export function Help({ print, urlOf }: HelpProps) {
  const open = useSignal(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.target instanceof Element && event.target.matches("input, select, textarea");
      if (event.key !== "?" || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      open.value = !open.value;
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  // The browser keeps the focus inside, closes it at Escape, and leads the focus back.
  useEffect(() => {
    if (open.value) dialog.current?.showModal?.();
    else dialog.current?.close?.();
  }, [open.value]);
  return (
    <>
      <button type="button" class="link" data-testid="help-button" onClick={() => (open.value = true)}>
        Help
      </button>
      <dialog ref={dialog} class="help" data-testid="help" aria-label="Help" onClose={() => (open.value = false)}>
        {open.value && <Content close={() => (open.value = false)} print={print} urlOf={urlOf} />}
      </dialog>
    </>
  );
}

function Content({ close, print, urlOf }: HelpProps & { close: () => void }) {
  return (
    <>
      <div class="table-head">
        <h2>Keys</h2>
        <button type="button" class="link help-close" onClick={close}>
          Close
        </button>
      </div>
      <Terms rows={KEYS} isKey />
      {urlOf === null && <OfFile />}
      <h2>Paper</h2>
      <p>
        <button
          type="button"
          data-testid="print"
          onClick={() => {
            close();
            window.setTimeout(print); // once the dialog is gone
          }}>
          Print all views
        </button>{" "}
        <span class="muted">
          of this capture, one below the other.
          {urlOf !== null && (
            <>
              {" "}
              As one file to send, without Compare and Trace:{" "}
              <code>tb-dataplugin report TRACE --format html -o report.html</code>
            </>
          )}
        </span>
      </p>
      <h2>Terms</h2>
      <Terms rows={TERMS} />
      <h2>Findings</h2>
      <Terms rows={[...SEVERITIES, ...CONFIDENCES]} />
      <h2>Causes of idle time</h2>
      <Terms rows={CAUSES} />
      <h2>Data wait that no stage caused</h2>
      <Terms rows={NOT_CAUSED} />
      <h2>Cost of a batch</h2>
      <Terms rows={COSTS} />
      <h2>Ranks: why one comes last, and when</h2>
      <Terms rows={[...RANK_CAUSES.filter(({ id }) => !NOT_CAUSED.some((term) => term.id === id)), ...PATTERNS]} />
      <h2>Kinds of stages</h2>
      <Terms rows={STAGE_KINDS} />
      <h2>{urlOf === null ? "More, in the source of tb-dataplugin" : "More"}</h2>
      <dl>
        {DOCS.map(([file, about]) => (
          <div key={file}>
            <dt class="mono">
              {urlOf === null ? (
                file
              ) : (
                <a href={urlOf(file)} target="_blank" rel="noreferrer" data-testid="document">
                  {file}
                </a>
              )}
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** What an HTML report does without. */
function OfFile() {
  return (
    <>
      <h2>This file</h2>
      <p data-testid="help-file">
        It has no Trace, no choice of steps, no comparisons but those that its captures suggest, and those of the
        folders that it was made of (as many as it has room for), and no predictions but those on Overview: these need
        TensorBoard, <code>tensorboard --logdir FOLDER</code>. <code>tb-dataplugin report --steps 20..40</code> writes a
        file of some steps, <code>tb-dataplugin compare</code> compares any in the terminal.
      </p>
    </>
  );
}

type Row = { readonly id: string; readonly label: string; readonly meaning: string };

function Terms({ rows, isKey = false }: { rows: readonly Row[]; isKey?: boolean }) {
  return (
    <dl>
      {rows.map(({ id, label, meaning }) => (
        <div key={id}>
          <dt>{isKey ? label.split(" ").map((key) => <kbd key={key}>{key}</kbd>) : label}</dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
