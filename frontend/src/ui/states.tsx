import { Component, type ComponentChildren } from "preact";
import { asSentence } from "../model/sentence";
import { Code } from "./code";
import { Prose } from "./prose";

/** Drawn when there is something to wait for. */
export function LoadingState({
  title,
  detail,
  children,
}: {
  title: string;
  detail?: string;
  children?: ComponentChildren;
}) {
  return (
    <section class="state" data-testid="loading-state" role="status">
      <p class="sentence">{title}</p>
      <div class="progress" aria-hidden="true" />
      {detail !== undefined && <p class="muted">{detail}</p>}
      {children}
    </section>
  );
}

export function ErrorState({
  title,
  message,
  children,
}: {
  title: string;
  message: string;
  children?: ComponentChildren;
}) {
  return (
    <section class="state" data-testid="error-state" role="alert">
      <p class="sentence">{title}</p>
      <p class="error-line">
        <Prose text={message} />
      </p>
      {children}
    </section>
  );
}

/** Drawn when this capture lacks the data of the view. */
export function UnavailableState({
  title,
  reason,
  children,
}: {
  title: string;
  reason: string;
  children?: ComponentChildren;
}) {
  return (
    <section class="state" data-testid="unavailable-state">
      <p class="sentence">{title}</p>
      <p class="muted reason">
        <Prose text={asSentence(reason)} />
      </p>
      {children}
    </section>
  );
}

function folderIn(logdir: string): string {
  return `${logdir === "" ? "runs" : logdir.replace(/\/+$/, "")}/exp1`;
}

const PLAIN = /^[\w./@%+:,-]+$/;

/** For a shell: a name with anything else than plain letters is quoted. */
export function command(logdir: string): string {
  const folder = folderIn(logdir);
  const quoted = PLAIN.test(folder) ? folder : `'${folder.replaceAll("'", "'\\''")}'`;
  return `tb-dataplugin run --logdir ${quoted} -- python train.py`;
}

export function snippet(logdir: string): string {
  return [
    "import annotate",
    `with annotate.profile(${JSON.stringify(folderIn(logdir))}) as prof:`,
    "    for batch in prof.steps(annotate.loader(loader)): train_step(batch)",
  ].join("\n");
}

export function EmptyState({ logdir, problems }: { logdir: string; problems: readonly string[] }) {
  return (
    <section class="state" data-testid="empty-state">
      <p class="sentence">
        No captures yet
        {logdir === "" ? (
          "."
        ) : (
          <>
            {" "}
            in <span class="mono">{logdir}</span>.
          </>
        )}
      </p>
      <p class="muted">Run your training script with this command, without a change to it:</p>
      <Code text={command(logdir)} testId="empty-command" />
      <p class="muted">Or put these lines around its loop. The capture appears here once it is written.</p>
      <Code text={snippet(logdir)} testId="empty-code" />
      <p class="muted">
        Traces written by torch.profiler (<span class="mono">*.pt.trace.json</span>, also gzipped) are shown, too.
      </p>
      <Problems problems={problems} />
    </section>
  );
}

export function Problems({ problems }: { problems: readonly string[] }) {
  if (problems.length === 0) return null;
  return (
    <ul class="problems" data-testid="problems">
      {problems.map((line) => (
        <li key={line}>
          <Prose text={line} />
        </li>
      ))}
    </ul>
  );
}

type BoundaryProps = { readonly resetKey: string; readonly children: ComponentChildren };
type BoundaryState = { readonly message: string | null; readonly key: string };

/** A view that throws shows its error in its own place; the rest of the page goes on. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { message: null, key: this.props.resetKey };

  static override getDerivedStateFromProps(props: BoundaryProps, state: BoundaryState): BoundaryState {
    return props.resetKey === state.key ? state : { message: null, key: props.resetKey };
  }

  override componentDidCatch(error: unknown): void {
    this.setState({ message: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    const { message } = this.state;
    if (message === null) return this.props.children;
    return (
      <ErrorState
        title="This view could not be drawn."
        message={`${message}. Please report this, with the capture if you can.`}
      />
    );
  }
}
