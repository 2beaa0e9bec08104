import { entry } from "../../state/atoms";
import { UnavailableState } from "../../ui/states";

type Props = {
  readonly runs: ReadonlyArray<{ readonly run: string }>;
  readonly shown: string;
  /** "was not recorded with annotate.watch" */
  readonly lacks: string;
  /** What `runs` call that of the capture that the list marks: its folder, unless said otherwise. */
  readonly own?: string | undefined;
};

/** Above what a view shows in place of the run of the capture that the list marks: that one has nothing to show. */
export function OfAnother({ runs, shown, lacks, own = entry.value?.run }: Props) {
  if (own === undefined || runs.some(({ run }) => run === own)) return null;
  return (
    <p class="muted" role="status" data-testid="of-another-run">
      {whose(own)} {lacks}. Below is {shown}.
    </p>
  );
}

type Other = { readonly name: string; readonly show: () => void };

type OthersProps = {
  readonly title: string;
  readonly lacks: string;
  readonly others: readonly Other[];
  /** The run that was asked for: that of the capture in view, unless said otherwise. */
  readonly own?: string | undefined;
};

/** In place of the run that was asked for, which has nothing to show: another one's numbers would be taken for its own. */
export function OthersOnly({ title, lacks, others, own = entry.value?.run }: OthersProps) {
  const were = others.length === 1 ? "Another run is there:" : "Other runs are there:";
  return (
    <UnavailableState title={title} reason={`${whose(own ?? "")} ${lacks}. ${were}`}>
      {others.map(({ name, show }) => (
        <p key={name}>
          <button type="button" class="link" data-testid="other-run" onClick={show}>
            Show {name}
          </button>
        </p>
      ))}
    </UnavailableState>
  );
}

/** A sentence does not begin with a name, which would be written as it is not. */
function whose(run: string): string {
  return run === "." ? "The log directory" : `The run ${run}`;
}
