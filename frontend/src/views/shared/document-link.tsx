import { routeUrl } from "../../data/api";
import { source } from "../../data/source";

/** A page of the documentation; without a server, its name alone. */
export function DocumentLink({ file }: { file: string }) {
  if (!source().live) return <>{file}</>;
  return (
    <a href={routeUrl(file)} target="_blank" rel="noreferrer" data-testid="document">
      {file}
    </a>
  );
}
