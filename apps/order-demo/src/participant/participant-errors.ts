/** The participant understood, and says no: asking again will not help. Nothing was done. */
export class RefusedError extends Error {
  override readonly name: string = 'RefusedError';
}

/** The participant could not be reached. Nothing was done. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError';
}

/** The request was sent and its answer never came: whether it was done is for the participant to know. */
export class AnswerLostError extends Error {
  override readonly name = 'AnswerLostError';
}
