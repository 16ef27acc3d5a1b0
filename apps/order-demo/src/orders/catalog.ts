/** What a piece costs, in cents. */
export const CATALOG: Readonly<Record<string, number>> = {
  'walnut-desk': 49_900,
  'desk-lamp': 7_900,
  'office-chair': 25_900,
};
