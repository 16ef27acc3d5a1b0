/** For those who play on this stage from outside: the tests, and the chaos rig. */
export { untilSettled } from './until-settled.js';
export { reconcile, type Claim } from './reconcile.js';
export { someOrder } from './scenario.js';
export { SCENARIOS } from './scenarios/all-scenarios.js';
export { DemoEnvironment } from './demo-environment.js';
export { type Service, SERVICES } from '../service/service.js';
export type { PlaceOrderDto } from '../order/place-order.dto.js';
