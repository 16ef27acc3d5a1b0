/** What a payment form gives instead of a card's number, and until when the card can be used: `2031-05`. */
export interface Card {
  readonly token: string;
  readonly expires: string;
}

/** To the payment service. Its answer is a PaymentReply, whatever it decides. */
export interface RequestPayment {
  readonly type: 'request-payment';
  readonly payload: {
    readonly orderId: string;
    /** In cents. */
    readonly amount: number;
    readonly card: Card;
  };
}

/** To the payment service. Its answer is a Refunded: a refund cannot be refused. */
export interface RefundPayment {
  readonly type: 'refund-payment';
  readonly payload: { readonly orderId: string };
}

export type PaymentCommand = RequestPayment | RefundPayment;

/** The payment is refunded, or there was none. */
export interface Refunded {
  readonly orderId: string;
}

/** A refusal is an answer like any other. */
export type PaymentReply =
  | { readonly orderId: string; readonly paid: true; readonly paymentId: string }
  | { readonly orderId: string; readonly paid: false; readonly reason: string };
