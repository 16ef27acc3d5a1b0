/** The options of operators' calls. Compiled with the tests' type check; there is nothing to run. */
import type { CallName, CALLS } from '../../libs/saga/src/engine/ports/call-table.js';
import type { SagaOperations, SagaService } from '../../libs/saga/src/index.js';
import type { OperatorOptions } from '../../libs/saga/src/operators.js';
import type { Equal, Expect } from './expect.js';

type Last<Given> = Given extends readonly [...unknown[], infer Options] ? Options : never;
type Calls = Pick<SagaService, CallName & keyof SagaService> &
  Pick<SagaOperations, CallName & keyof SagaOperations>;
/** What a method of these services takes as its options, beside what each call takes. */
type Taken<Name extends CallName> = Exclude<
  keyof Last<Required<Parameters<Calls[Name]>>>,
  keyof OperatorOptions | 'transaction'
>;
type Listed<Name extends CallName> = (typeof CALLS)[Name]['options'];
/** What the table of calls lists for it. */
type Options<Name extends CallName> = {
  [Option in keyof Listed<Name>]: Listed<Name>[Option] extends { readonly operand: true } ? never : Option;
}[keyof Listed<Name>];

type Differences = { [Name in CallName]: Equal<Taken<Name>, Options<Name>> extends true ? never : Name };
export type Check = Expect<Equal<Differences[CallName], never>>;
