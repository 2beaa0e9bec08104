import type { WorkerCosts } from "../../contract/report";
import { costFacts, costParts } from "../../model/costs";
import { formatDuration, plural } from "../../model/format";
import { shareWords } from "../../model/shares";
import { Explained } from "../../ui/explained";
import { PictureMenu } from "../../ui/picture-menu";
import { ShareBar } from "../../ui/share-bar";
import { Swatch } from "../../ui/swatch";

/** What building the batches cost: how the time divides, then processor, threads and reads per batch. */
export function Costs({ costs }: { costs: WorkerCosts | undefined }) {
  if (costs === undefined || costs.batches === 0) return null;
  const parts = costParts(costs);
  return (
    <section data-testid="worker-costs">
      <div class="table-head">
        <h2>Cost of a batch in its DataLoader worker</h2>
        <span class="muted">
          {plural(costs.batches, "batch")} of all DataLoader workers, begun and finished in the window
        </span>
        {parts.length > 0 && <PictureMenu name="Cost of a batch" />}
      </div>
      {parts.length > 0 && (
        <ShareBar parts={parts} wholeUs={costs.wall_us} of="the build time" testId="cost-bar">
          <ul class="legend">
            {parts.map((part) => (
              <li key={part.name}>
                <Swatch token={part.token} />
                {part.name}{" "}
                <span class="tabular">
                  {shareWords(part.us, costs.wall_us)}, {formatDuration(part.us / costs.batches)} per batch
                </span>
              </li>
            ))}
          </ul>
        </ShareBar>
      )}
      <dl class="facts">
        {costFacts(costs).map(({ key, name, value, text, title }) => (
          <div key={key}>
            <dt>
              <Explained text={title}>{name}</Explained>
            </dt>
            <dd class="tabular" data-testid={`cost-${key}`} data-value={value}>
              {text}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
