import { useEffect } from "preact/hooks";
import type { Ranks } from "../../contract/report";
import { runOfRanks } from "../../data/runs";
import { exactNumber, exactUs, formatDuration, plural } from "../../model/format";
import { shareWords } from "../../model/shares";
import { chosenRun, entry, ranksError, ranksList, runs } from "../../state/atoms";
import { loadRanks } from "../../state/run-views";
import { asShare, BigNumber, NumberRow } from "../../ui/numbers";
import { allOf, PictureOf } from "../../ui/picture-menu";
import { Prose } from "../../ui/prose";
import { ErrorState, LoadingState, UnavailableState } from "../../ui/states";
import { OfAnother, OthersOnly } from "../shared/of-another";
import { RanksSentence } from "../shared/ranks-sentence";
import { RankChart } from "./rank-chart";
import { Clocks, Owners, RankTable } from "./tables";

const LACKS = "has no captures of several ranks";

function otherOf(ranks: Ranks): { readonly name: string; readonly show: () => void } {
  const show = (): void => {
    chosenRun.value = ranks.run;
  };
  return { name: nameOf(ranks), show };
}

/** All captured ranks of a run: who holds up the others, and why. */
export function RanksView() {
  const known = runs.value;
  useEffect(() => void loadRanks(), [known]);
  const answer = ranksList.value;
  if (answer === null) {
    if (ranksError.value !== null) return <ErrorState title="No ranks." message={ranksError.value} />;
    return <LoadingState title="Reading the captures of all ranks" detail="All of them are read once more." />;
  }
  const own = entry.value === null ? undefined : runOfRanks(entry.value);
  const wanted = chosenRun.value ?? own;
  const ranks = answer.ranks.find((one) => one.run === wanted) ?? (entry.value === null ? answer.ranks[0] : undefined);
  return (
    <div data-testid="ranks" class="run-view">
      {answer.ranks.length === 0 ? (
        <UnavailableState title="No ranks" reason={answer.hint_text} />
      ) : ranks === undefined ? (
        <OthersOnly title="No ranks in this capture's run" lacks={LACKS} others={answer.ranks.map(otherOf)} />
      ) : (
        <>
          <Choice all={answer.ranks} ranks={ranks} />
          <OfAnother runs={answer.ranks} shown={ranks.run} lacks={LACKS} own={own} />
          <PictureOf.Provider value={allOf(`Ranks of ${nameOf(ranks)}`)}>
            <Shown ranks={ranks} />
          </PictureOf.Provider>
        </>
      )}
    </div>
  );
}

function Choice({ all, ranks }: { all: readonly Ranks[]; ranks: Ranks }) {
  if (all.length < 2) return <h2>Run: {nameOf(ranks)}</h2>;
  return (
    <label class="muted">
      Run{" "}
      <select
        data-testid="ranks-choice"
        value={ranks.run}
        onChange={(event) => {
          chosenRun.value = event.currentTarget.value;
        }}>
        {all.map((one) => (
          <option key={one.run} value={one.run}>
            {nameOf(one)}
          </option>
        ))}
      </select>
    </label>
  );
}

function nameOf({ run }: Ranks): string {
  return run === "." ? "log directory" : run;
}

function Shown({ ranks }: { ranks: Ranks }) {
  const notes = [ranks.clock_sentence, ...ranks.note_texts].filter((note) => note !== "");
  return (
    <>
      <p class="sentence" data-testid="ranks-sentence">
        <RanksSentence ranks={ranks} />
      </p>
      {ranks.collectives > 0 && <Numbers ranks={ranks} />}
      {ranks.waste.map((waste) => (
        <p key={waste.sentence} class="error-line" data-testid="rank-waste" data-value={waste.share}>
          <Prose text={waste.sentence} />
        </p>
      ))}
      <RankChart ranks={ranks} />
      <div class="beside">
        <RankTable ranks={ranks} />
        <Owners ranks={ranks} />
      </div>
      <Clocks ranks={ranks} />
      {notes.map((note) => (
        <p key={note} class="muted run-note" data-testid="rank-note">
          <Prose text={note} />
        </p>
      ))}
    </>
  );
}

function Numbers({ ranks }: { ranks: Ranks }) {
  const [first] = ranks.owners;
  const pattern = first?.pattern;
  const ownedUs = ranks.owners
    .filter(({ rank }) => rank === first?.rank)
    .reduce((sum, owner) => sum + owner.lost_us, 0);
  return (
    <NumberRow>
      <BigNumber
        label="Lost time"
        testId="ranks-lost"
        {...asShare(ranks.lost_us, ranks.rank_time_us)}
        note={`${formatDuration(ranks.lost_us)} of ${formatDuration(ranks.rank_time_us)}, from the first collective to the last, of all ranks together`}
        exact={exactUs(ranks.lost_us)}
      />
      <BigNumber
        label="Straggler"
        testId="ranks-pattern"
        value={ranks.owners[0]?.rank}
        text={ranks.owners[0] === undefined ? "" : `rank ${ranks.owners[0].rank}`}
        note={
          pattern === "roaming"
            ? "roaming: it changes from step to step"
            : `${pattern}; owns ${shareWords(ownedUs, ranks.lost_us)} of the lost time`
        }
        reason={{ title: "none", message: "No rank holds up the others." }}
      />
      <BigNumber
        label="Collectives"
        testId="ranks-collectives"
        value={ranks.collectives}
        text={exactNumber(ranks.collectives)}
        note={`of ${plural(ranks.rows.length, "rank")}, matched by ${ranks.matched_by}`}
      />
    </NumberRow>
  );
}
