package org.regatta.bench.fop;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.regatta.bench.inputs.GeneratedText;

/**
 * Writes a report in XSL-FO: contents with page numbers, then chapters of justified paragraphs, footnotes, lists and
 * tables with spans and repeated headers.
 *
 * <p>Uses the fourteen standard PDF fonts, whose metrics are in FOP, and no font of the machine.
 */
final class Report {
    private static final int TEXT_BYTES = 32 * 1024;
    private static final int SECTIONS = 3;
    private static final int COLUMNS = 4;
    private static final String[] MASTERS = {
        "<fo:simple-page-master master-name='page' page-width='210mm' page-height='297mm' margin='15mm 20mm'>",
        "<fo:region-body margin='15mm 0mm 12mm 0mm'/>",
        "<fo:region-before extent='10mm'/><fo:region-after extent='8mm'/>",
        "</fo:simple-page-master>",
        "<fo:simple-page-master master-name='columns' page-width='210mm' page-height='297mm' margin='15mm 20mm'>",
        "<fo:region-body margin='15mm 0mm 12mm 0mm' column-count='2' column-gap='6mm'/>",
        "<fo:region-before extent='10mm'/><fo:region-after extent='8mm'/>",
        "</fo:simple-page-master>",
    };

    private final Random random;
    private final StringBuilder fo = new StringBuilder();
    private String[] words;
    private int nextWord;
    private int footnotes;

    private Report(Random random) {
        this.random = random;
    }

    /**
     * @param chapters number of chapters, each of some four pages
     * @return the document in UTF-8
     */
    static byte[] document(Random random, int chapters) {
        return new Report(random).write(chapters).getBytes(StandardCharsets.UTF_8);
    }

    private String write(int chapters) {
        fo.append("<?xml version='1.0' encoding='UTF-8'?>\n");
        fo.append("<fo:root xmlns:fo='http://www.w3.org/1999/XSL/Format' font-family='Times' font-size='10pt'>");
        fo.append("<fo:layout-master-set>").append(String.join("", MASTERS)).append("</fo:layout-master-set>\n");
        String[] titles = new String[chapters];
        for (int chapter = 0; chapter < chapters; chapter++) {
            renewWords();
            titles[chapter] = text(3);
        }
        contents(titles);
        for (int chapter = 0; chapter < chapters; chapter++) {
            renewWords();
            chapter(chapter, titles[chapter]);
        }
        return fo.append("</fo:root>\n").toString();
    }

    private void contents(String[] titles) {
        fo.append("<fo:page-sequence master-reference='page' format='i'><fo:flow flow-name='xsl-region-body'>");
        fo.append("<fo:block font-family='Helvetica' font-size='18pt' space-after='12pt'>Contents</fo:block>");
        for (int chapter = 0; chapter < titles.length; chapter++) {
            fo.append("<fo:block text-align-last='justify'><fo:basic-link internal-destination='c").append(chapter);
            fo.append("'>").append(chapter + 1).append(". ").append(titles[chapter]).append("</fo:basic-link>");
            fo.append("<fo:leader leader-pattern='dots'/><fo:page-number-citation ref-id='c").append(chapter);
            fo.append("'/></fo:block>\n");
        }
        fo.append("</fo:flow></fo:page-sequence>\n");
    }

    private void chapter(int number, String title) {
        // Every third chapter has two columns, in which lines and footnotes break differently.
        String master = number % 3 == 2 ? "columns" : "page";
        fo.append("<fo:page-sequence master-reference='").append(master).append('\'');
        fo.append(number == 0 ? " initial-page-number='1'>" : ">");
        fo.append("<fo:static-content flow-name='xsl-region-before'><fo:block font-size='8pt' text-align='end'>");
        fo.append("<fo:retrieve-marker retrieve-class-name='section'/></fo:block></fo:static-content>");
        fo.append("<fo:static-content flow-name='xsl-region-after'><fo:block font-size='8pt' text-align='center'>");
        fo.append("<fo:page-number/></fo:block></fo:static-content>");
        fo.append("<fo:flow flow-name='xsl-region-body'>\n");
        fo.append("<fo:block id='c").append(number).append("' font-family='Helvetica' font-size='16pt' ");
        fo.append("font-weight='bold' span='all' space-after='10pt' keep-with-next='always'>");
        fo.append(number + 1).append(". ").append(title).append("</fo:block>\n");
        for (int section = 0; section < SECTIONS; section++) {
            section(number, section);
        }
        fo.append("</fo:flow></fo:page-sequence>\n");
    }

    private void section(int chapter, int section) {
        String title = (chapter + 1) + "." + (section + 1) + " " + text(4);
        fo.append("<fo:block font-family='Helvetica' font-weight='bold' space-before='8pt' space-after='4pt' ");
        fo.append("keep-with-next='always'><fo:marker marker-class-name='section'>").append(title);
        fo.append("</fo:marker>").append(title).append("</fo:block>\n");
        for (int paragraph = 3 + random.nextInt(3); paragraph > 0; paragraph--) {
            paragraph();
        }
        list();
        paragraph();
        table();
    }

    private void paragraph() {
        fo.append("<fo:block text-align='justify' text-indent='4mm' widows='2' orphans='2' space-after='3pt'>");
        fo.append(text(30 + random.nextInt(40)));
        if (random.nextInt(3) == 0) {
            footnote();
        }
        fo.append(" <fo:inline font-style='italic'>").append(text(3)).append("</fo:inline> ");
        fo.append(text(20 + random.nextInt(40)));
        fo.append(" <fo:inline font-family='Courier' font-size='9pt'>").append(text(1)).append("</fo:inline> ");
        fo.append(text(10)).append(".</fo:block>\n");
    }

    private void footnote() {
        footnotes++;
        fo.append("<fo:footnote><fo:inline font-size='6pt' baseline-shift='super'>").append(footnotes);
        fo.append("</fo:inline><fo:footnote-body><fo:block font-size='8pt' text-indent='0mm' text-align='start'>");
        fo.append(footnotes).append(") ").append(text(8 + random.nextInt(16)));
        fo.append("</fo:block></fo:footnote-body></fo:footnote>");
    }

    private void list() {
        fo.append("<fo:list-block provisional-distance-between-starts='6mm' space-after='4pt'>\n");
        for (int item = 3 + random.nextInt(4); item > 0; item--) {
            fo.append("<fo:list-item><fo:list-item-label end-indent='label-end()'><fo:block>&#x2022;</fo:block>");
            fo.append("</fo:list-item-label><fo:list-item-body start-indent='body-start()'><fo:block>");
            fo.append(text(6 + random.nextInt(20))).append("</fo:block></fo:list-item-body></fo:list-item>\n");
        }
        fo.append("</fo:list-block>\n");
    }

    /** A table with a repeated header, in which some rows have a cell spanning two columns. */
    private void table() {
        fo.append("<fo:table table-layout='fixed' width='100%' border-collapse='separate' font-size='8pt'>");
        for (int column = 0; column < COLUMNS; column++) {
            fo.append("<fo:table-column column-width='proportional-column-width(").append(column + 2).append(")'/>");
        }
        fo.append("<fo:table-header><fo:table-row background-color='#dddddd' font-weight='bold'>");
        for (int column = 0; column < COLUMNS; column++) {
            cell(1, text(1));
        }
        fo.append("</fo:table-row></fo:table-header><fo:table-body>\n");
        for (int row = 6 + random.nextInt(10); row > 0; row--) {
            fo.append("<fo:table-row keep-together.within-page='always'>");
            cell(1, String.valueOf(random.nextInt(100_000)));
            if (random.nextInt(4) == 0) {
                cell(2, text(6));
            } else {
                cell(1, text(1 + random.nextInt(3)));
                cell(1, text(1 + random.nextInt(3)));
            }
            cell(1, text(2 + random.nextInt(8)));
            fo.append("</fo:table-row>\n");
        }
        fo.append("</fo:table-body></fo:table>\n");
    }

    private void cell(int columns, String content) {
        fo.append("<fo:table-cell padding='1pt' border='0.5pt solid black' number-columns-spanned='").append(columns);
        fo.append("'><fo:block>").append(content).append("</fo:block></fo:table-cell>");
    }

    private void renewWords() {
        String text = new String(GeneratedText.bytes(random, TEXT_BYTES), StandardCharsets.US_ASCII);
        words = text.replace('.', ' ').trim().split("\\s+");
        nextWord = 0;
    }

    /** @return the next {@code count} words; the first one follows the last one */
    private String text(int count) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? "" : " ").append(words[nextWord]);
            nextWord = (nextWord + 1) % words.length;
        }
        return text.toString();
    }
}
