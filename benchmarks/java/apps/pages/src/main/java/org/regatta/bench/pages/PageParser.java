package org.regatta.bench.pages;

import java.io.IOException;
import java.io.Reader;

/** Parses HTML character by character, and passes on tags and the text between them. */
final class PageParser {
    private final StringBuilder piece = new StringBuilder();

    /** Receiver of the contents of a page. */
    interface Handler {
        /** @param tag without the angle brackets, such as {@code /p} */
        void tag(String tag);

        /** @param text between two tags, or between a tag and an end of the page */
        void text(String text);
    }

    void parse(Reader in, Handler handler) throws IOException {
        piece.setLength(0);
        for (int c = in.read(); c >= 0; c = in.read()) {
            if (c == '<') {
                endText(handler);
            } else if (c == '>') {
                handler.tag(piece.toString());
                piece.setLength(0);
            } else {
                piece.append((char) c);
            }
        }
        endText(handler);
    }

    private void endText(Handler handler) {
        if (piece.length() > 0) {
            handler.text(piece.toString());
            piece.setLength(0);
        }
    }
}
