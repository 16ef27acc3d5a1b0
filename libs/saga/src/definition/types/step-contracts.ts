/**
 * What remote steps are given and return, by the names of their handlers. Applications add theirs, and from then on
 * `@StepHandler` and `@RemoteStep` of that name are checked against it, in every file that sees the declaration:
 *
 *     declare module 'nestjs-durable-saga' {
 *       interface StepContracts {
 *         'stock.reserve'(input: ReserveStock): Reservation;
 *       }
 *     }
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- applications fill it
export interface StepContracts {}
