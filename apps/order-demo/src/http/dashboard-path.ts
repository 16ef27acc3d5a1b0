/** Where operators look at sagas, and act on them. */
export const DASHBOARD_PATH = 'admin/sagas';
