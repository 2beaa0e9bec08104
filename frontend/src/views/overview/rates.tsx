import type { Throughput } from "../../contract/report";
import { sig3 } from "../../model/format";
import { fillStyle } from "../../ui/swatch";

type Rate = { readonly name: string; readonly perS: number | undefined; readonly token: string };

/** What each part could sustain alone: the shortest bar is the one to widen. */
export function Rates({ throughput }: { throughput: Throughput | undefined }) {
  if (throughput === undefined) return null;
  const rates: Rate[] = [
    { name: "this run reached", perS: throughput.samples_per_s, token: "ink-muted" },
    { name: "reading alone", perS: throughput.read_per_s, token: "read" },
    { name: "preparation alone", perS: throughput.prepare_per_s, token: "transform" },
    { name: "training step alone", perS: throughput.device_per_s, token: "kernel" },
  ];
  const known = rates.filter((rate) => rate.perS !== undefined);
  if (known.length < 2) return null;
  const largest = Math.max(...known.map((rate) => rate.perS ?? 0), 1e-9);
  return (
    <table class="parts rates" data-testid="rates">
      <caption>What each part could sustain alone</caption>
      <thead>
        <tr>
          <th scope="col" class="parts-name">
            Part
          </th>
          <th scope="col">
            <span class="offscreen">Bar</span>
          </th>
          <th scope="col" class="num">
            samples/s
          </th>
        </tr>
      </thead>
      <tbody>
        {known.map(({ name, perS = 0, token }) => (
          <tr key={name}>
            <th scope="row" class="parts-name">
              {name}
            </th>
            <td class="parts-bar">
              <span class="bar fill" style={{ ...fillStyle(token), width: `${(100 * perS) / largest}%` }} />
            </td>
            <td class="num" data-value={perS} title={String(perS)}>
              {sig3(perS)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
