<?xml version="1.0" encoding="UTF-8"?>
<!-- What each author wrote, by year: grouping by keys, sums, formatted numbers. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="xml" encoding="UTF-8"/>
  <xsl:decimal-format name="plain" decimal-separator="." grouping-separator=","/>
  <xsl:key name="by-author" match="article" use="@author"/>
  <xsl:key name="by-author-and-year" match="article" use="concat(@author, ' ', @year)"/>

  <xsl:template match="/archive">
    <authors archive="{@number}">
      <xsl:apply-templates select="author">
        <xsl:sort select="." lang="en"/>
        <xsl:sort select="@born" data-type="number" order="descending"/>
      </xsl:apply-templates>
      <total articles="{count(.//article)}">
        <xsl:value-of select="format-number(sum(.//article/@cents) div 100, '#,##0.00', 'plain')"/>
      </total>
    </authors>
  </xsl:template>

  <xsl:template match="author">
    <xsl:variable name="born" select="@born"/>
    <xsl:variable name="articles" select="key('by-author', @id)"/>
    <author name="{normalize-space(.)}" articles="{count($articles)}" pages="{sum($articles/@pages)}">
      <!-- The first article of each year stands for the year. -->
      <xsl:for-each select="$articles[generate-id() =
                            generate-id(key('by-author-and-year', concat(@author, ' ', @year))[1])]">
        <xsl:sort select="@year" data-type="number"/>
        <xsl:variable name="year" select="key('by-author-and-year', concat(@author, ' ', @year))"/>
        <year number="{@year}" age="{@year - $born}">
          <xsl:attribute name="price">
            <xsl:value-of select="format-number(sum($year/@cents) div 100, '#,##0.00', 'plain')"/>
          </xsl:attribute>
          <xsl:for-each select="$year">
            <xsl:sort select="@cents" data-type="number" order="descending"/>
            <xsl:sort select="@id"/>
            <article id="{@id}" share="{format-number(@cents * 100 div sum($year/@cents), '000', 'plain')}">
              <xsl:value-of select="title"/>
            </article>
          </xsl:for-each>
        </year>
      </xsl:for-each>
    </author>
  </xsl:template>
</xsl:stylesheet>
