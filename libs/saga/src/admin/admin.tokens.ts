/** What may come from a factory. */
export const ADMIN_OPTIONS = Symbol('nestjs-durable-saga:admin-options');
/** How the routes were asked for. */
export const ADMIN_ROUTES = Symbol('nestjs-durable-saga:admin-routes');
