export const PACKAGES: Readonly<Record<string, readonly string[]>>;
export const ROOMS: Readonly<Record<string, readonly string[]>>;
export const FOLDERS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
