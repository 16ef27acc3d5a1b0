export const PACKAGES: Readonly<Record<string, readonly string[]>>;
/** The name under which a package is published. @param folder below libs/ */
export function publishedName(folder: string): string;
/** The packages that an application imports. */
export const IMPORTED: readonly string[];
/** The entries that an application imports, each with its name and its file below src/ and dist/, without an ending. */
export function entriesOf(folder: string): { specifier: string; file: string }[];
export const ROOMS: Readonly<Record<string, readonly string[]>>;
export const FOLDERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
