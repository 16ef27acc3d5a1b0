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

/** To the customer service. Its answer is a Released: a release cannot be refused. */
export interface ReleaseCredit {
  readonly type: 'release-credit';
  readonly payload: { readonly orderId: string };
}

export type CustomerCommand = ReserveCredit | ReleaseCredit;

/** The credit is released, or there was none. */
export interface Released {
  readonly orderId: string;
}

/** A refusal is an answer like any other. */
export type CreditReply =
  | { readonly orderId: string; readonly granted: true }
  | { readonly orderId: string; readonly granted: false; readonly reason: string };
