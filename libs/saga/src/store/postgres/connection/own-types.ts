/** How text of PostgreSQL is read. */
type Read = (text: string) => unknown;

/**
 * PostgreSQL's numbers of types. They never change. Others are read as text: bigint and numeric among them, of which not
 * all fit into a number.
 */
const READERS: Readonly<Record<number, Read>> = {
  16: (text) => text === 't', // boolean
  21: Number, // smallint
  23: Number, // int
  26: Number, // oid
  700: Number, // real
  701: Number, // float8
  114: JSON.parse, // json
  3802: JSON.parse, // jsonb
  1000: arrayOf((text) => text === 't'), // boolean[]
  1005: arrayOf(Number), // smallint[]
  1007: arrayOf(Number), // int[]
  1009: arrayOf(asIs), // text[]
  1022: arrayOf(Number), // float8[]
  2951: arrayOf(asIs), // uuid[]
};

/**
 * How the engine's statements read what PostgreSQL answers, in the form that pg takes with a statement. Applications may
 * have parsers of their own for the whole process (`pg.types.setTypeParser`), which are theirs alone.
 *
 * No type here is written in different ways under different settings of the server: times are asked for as numbers.
 */
export const OWN_TYPES = {
  getTypeParser: (type: number): Read => READERS[type] ?? asIs,
};

function asIs(text: string): string {
  return text;
}

/** An array of one dimension, as PostgreSQL writes it: `{1,NULL,"a \"quoted\" one"}`. */
function arrayOf(read: Read): Read {
  return (text) =>
    [...text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/gs)].map(([, quoted, plain]) => {
      if (quoted !== undefined) return read(quoted.replace(/\\(.)/gs, '$1'));
      return plain === 'NULL' ? null : read(plain!);
    });
}
