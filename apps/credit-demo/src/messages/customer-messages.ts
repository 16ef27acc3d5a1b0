/** To the customer service. Its answer is a CreditReply, whatever it decides. */
export interface ReserveCredit {
  readonly type: 'reserve-credit';
  readonly payload: {
    readonly orderId: string;
    readonly customerId: string;
    /** In cents. */
    readonly amount: number;
  };
}

/** To the customer service, which does not answer: a release cannot be refused. */
export interface ReleaseCredit {
  readonly type: 'release-credit';
  readonly payload: { readonly orderId: string };
}

export type CustomerCommand = ReserveCredit | ReleaseCredit;

/** A refusal is an answer like any other. */
export type CreditReply =
  | { readonly orderId: string; readonly granted: true }
  | { readonly orderId: string; readonly granted: false; readonly reason: string };
