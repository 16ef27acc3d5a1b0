export const FOLDER: string;
export function requireSwagger(): unknown;
