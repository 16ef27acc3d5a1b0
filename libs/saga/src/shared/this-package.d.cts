export const FOLDER: string;
export function readVersion(): string;
