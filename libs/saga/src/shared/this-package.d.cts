export const FOLDER: string;
export function readVersion(): string;
export const PACKAGE_FOLDERS: readonly string[];
