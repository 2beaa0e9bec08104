import { entry } from "../../state/atoms";

type Props = {
  readonly runs: ReadonlyArray<{ readonly run: string }>;
  readonly shown: string;
  /** "was not recorded by annotate.watch" */
  readonly lacks: string;
};

/** Above what a view shows in place of the run of the capture that the list marks: that one has nothing to show. */
export function OfAnother({ runs, shown, lacks }: Props) {
  const own = entry.value?.run;
  if (own === undefined || runs.some(({ run }) => run === own)) return null;
  return (
    <p class="muted" role="status" data-testid="of-another-run">
      {folderName(own)} {lacks}. Below is another run: {folderName(shown)}.
    </p>
  );
}

export function folderName(run: string): string {
  return run === "." ? "the log directory" : run;
}
