/** The demo's tables stay out of the way of whatever else the database holds. */
export const DEMO_SCHEMA = 'order_demo';
