export const FILE: string;
