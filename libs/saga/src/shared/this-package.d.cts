export const FOLDER: string;
export const VERSION: string;
