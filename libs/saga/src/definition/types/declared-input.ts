/** Carries the declared input type for InputOf; exists for the compiler only. */
export declare const declaredInput: unique symbol;
