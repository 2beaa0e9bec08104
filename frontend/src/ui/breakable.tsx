import { Fragment } from "preact";

/** A long name goes on in the next line after a mark, not inside a word. */
export function Breakable({ name }: { readonly name: string }) {
  return (
    <>
      {name.split(/(?<=[._/-])/).map((part, place) => (
        <Fragment key={place}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </>
  );
}
