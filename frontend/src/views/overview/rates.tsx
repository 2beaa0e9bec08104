import type { Capture, Throughput } from "../../contract/report";
import { RATES } from "../../contract/words";
import { exactNumber, significant } from "../../model/format";
import { itemsOf } from "../../model/items";
import { asSentence, capitalised } from "../../model/sentence";
import { labelOf } from "../../model/words";
import { DataTable, Rows, Th } from "../../ui/data-table";
import { Prose } from "../../ui/prose";
import { fillStyle } from "../../ui/swatch";

type Rate = { readonly name: string; readonly perS: number | undefined; readonly token: string };

const FEW = "few_batches";
/** What the rates have in them that a part alone would not have. */
const WITH = ["contended_rates", "rates_with_ranks", "rates_with_others", "rates_with_lone_step"];

/** What each part could sustain alone; reading and preparation together, too, since the loop has to wait for both. */
export function Rates({ capture: { throughput, diagnostics } }: { capture: Capture }) {
  if (throughput === undefined) return null;
  const rates: Rate[] = [
    { name: "this run", perS: throughput.samples_per_s, token: "ink-muted" },
    { name: labelOf(RATES, "read"), perS: throughput.read_per_s, token: "read" },
    { name: labelOf(RATES, "prepare"), perS: throughput.prepare_per_s, token: "transform" },
    { name: labelOf(RATES, "load"), perS: loadingOf(throughput), token: "collate" },
    { name: labelOf(RATES, "around"), perS: throughput.around_per_s, token: "sampler" },
    { name: labelOf(RATES, "device"), perS: throughput.device_per_s, token: "kernel" },
  ];
  const known = rates.filter((rate) => rate.perS !== undefined);
  if (known.length < 2) return <NoRates message={diagnostics.find(({ code }) => code === FEW)?.message} />;
  const notes = diagnostics.filter(({ code }) => WITH.includes(code));
  const width = logWidths(known.flatMap(({ perS }) => perS ?? []));
  return (
    <div class="parts-box">
      <DataTable name="What each part could sustain alone" class="parts rates" testId="rates">
        <caption>
          What each part could sustain alone
          <p class="muted">Bars are logarithmic.</p>
        </caption>
        <thead>
          <tr>
            <Th column="part" label="Part" numeric={false} />
            <th scope="col">
              <span class="offscreen">Bar</span>
            </th>
            <Th column="rate" label={`${itemsOf(throughput)}/s`} />
          </tr>
        </thead>
        <tbody>
          <Rows>
            {known.map(({ name, perS = 0, token }) => (
              <tr key={name}>
                <th scope="row" class="parts-name">
                  {name}
                </th>
                <td class="parts-bar">
                  <span class="bar fill" style={{ ...fillStyle(token), width: `${100 * width(perS)}%` }} />
                </td>
                <td class="num" data-value={perS} title={`${exactNumber(perS)} ${itemsOf(throughput)} per second`}>
                  {significant(perS)}
                </td>
              </tr>
            ))}
          </Rows>
        </tbody>
      </DataTable>
      {throughput.slowest_text !== "" && (
        <p data-testid="rates-limit">
          <Prose text={capitalised(asSentence(throughput.slowest_text))} />
        </p>
      )}
      {notes.map(({ code, message }) => (
        <p key={code} class="muted" data-testid={code}>
          <Prose text={message} />.
        </p>
      ))}
      {isFromQueue(throughput) && (
        <p class="muted" data-testid="rates-note">
          This run used more {itemsOf(throughput)} than were prepared: the first batches were ready before the window
          began.
        </p>
      )}
    </div>
  );
}

/** Of reading and preparation, which whoever builds batches does by turns: less than either alone. */
function loadingOf({ load_per_s, read_per_s, prepare_per_s }: Throughput): number | undefined {
  return read_per_s === undefined || prepare_per_s === undefined ? undefined : load_per_s;
}

/** Rates differ a hundredfold: a bar per decade, from the one below the smallest to the largest. */
function logWidths(rates: readonly number[]): (rate: number) => number {
  const above = rates.filter((rate) => rate > 0).map(Math.log10);
  const [low, high] = [Math.ceil(Math.min(...above)) - 1, Math.max(...above)];
  return (rate) => (rate > 0 ? (Math.log10(rate) - low) / Math.max(1e-9, high - low) : 0);
}

/** Nothing runs faster than its slowest part, but for what was ready before. */
function isFromQueue({ samples_per_s: reached, read_per_s, prepare_per_s }: Throughput): boolean {
  return reached !== undefined && Math.min(read_per_s ?? Infinity, prepare_per_s ?? Infinity) < reached;
}

function NoRates({ message }: { message: string | undefined }) {
  return message === undefined ? null : (
    <p class="muted" data-testid="no-rates">
      <Prose text={message} />.
    </p>
  );
}
