import { goToTimeline } from "./go-to";

/** "timeline (t)", in a text below it. */
export function TimelineWay() {
  return (
    <>
      <button type="button" class="link" data-testid="timeline-way" onClick={goToTimeline}>
        timeline
      </button>{" "}
      (<kbd>t</kbd>)
    </>
  );
}
