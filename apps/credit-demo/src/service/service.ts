export const SERVICES = ['order', 'customer', 'payment'] as const;
export type Service = (typeof SERVICES)[number];
