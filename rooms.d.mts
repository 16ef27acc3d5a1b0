export const PACKAGES: Readonly<Record<string, readonly string[]>>;
/** The name under which a package is published. @param folder below libs/ */
export function publishedName(folder: string): string;
/** The packages that an application imports. */
export const IMPORTED: readonly string[];
export const ROOMS: Readonly<Record<string, readonly string[]>>;
export const FOLDERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
