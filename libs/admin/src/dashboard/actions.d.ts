import type { actionDialogs } from '../dashboard-data.js';

/** The dialogs of the operators' calls. `dashboard-files.ts` makes this script of their table. */
export const ACTIONS: ReturnType<typeof actionDialogs>;
