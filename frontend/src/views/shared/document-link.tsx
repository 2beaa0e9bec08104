import { routeUrl } from "../../data/api";
import { source } from "../../data/source";
import { theme } from "../../state/atoms";

/** A page of the documentation, in the colours of this one; without a server, its name alone. */
export function DocumentLink({ file }: { file: string }) {
  if (!source().live) return <>{file}</>;
  return (
    <a href={routeUrl(file, { theme: theme.value })} target="_blank" rel="noreferrer" data-testid="document">
      {file}
    </a>
  );
}
