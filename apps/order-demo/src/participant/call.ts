/** What comes with every request to a participant. The context of a saga's step is one. */
export interface Call {
  /** The same on every try: a service that receives it twice does the work once. */
  readonly idempotencyKey: string;
  /** The caller does not wait any longer. */
  readonly signal?: AbortSignal;
}
