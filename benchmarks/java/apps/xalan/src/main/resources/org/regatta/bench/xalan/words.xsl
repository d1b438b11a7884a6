<?xml version="1.0" encoding="UTF-8"?>
<!-- The words of every paragraph, counted and turned round: strings and recursion, to plain text. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="text" encoding="UTF-8"/>

  <xsl:template match="/">
    <xsl:apply-templates select="//para"/>
  </xsl:template>

  <xsl:template match="para">
    <xsl:value-of select="concat(../@id, '.', position(), ' ')"/>
    <xsl:call-template name="turned">
      <xsl:with-param name="left" select="concat(normalize-space(translate(., '&amp;', '')), ' ')"/>
    </xsl:call-template>
    <xsl:text>&#10;</xsl:text>
  </xsl:template>

  <xsl:template name="turned">
    <xsl:param name="left"/>
    <xsl:param name="words" select="0"/>
    <xsl:param name="longest" select="''"/>
    <xsl:choose>
      <xsl:when test="$left = ''">
        <xsl:value-of select="concat($words, ' words, the longest ', $longest, ':')"/>
      </xsl:when>
      <xsl:otherwise>
        <xsl:variable name="word" select="substring-before($left, ' ')"/>
        <xsl:call-template name="turned">
          <xsl:with-param name="left" select="substring-after($left, ' ')"/>
          <xsl:with-param name="words" select="$words + 1"/>
          <xsl:with-param name="longest">
            <xsl:choose>
              <xsl:when test="string-length($word) > string-length($longest)">
                <xsl:value-of select="$word"/>
              </xsl:when>
              <xsl:otherwise><xsl:value-of select="$longest"/></xsl:otherwise>
            </xsl:choose>
          </xsl:with-param>
        </xsl:call-template>
        <xsl:value-of select="concat(' ', translate($word, 'aeiou', 'AEIOU'))"/>
      </xsl:otherwise>
    </xsl:choose>
  </xsl:template>
</xsl:stylesheet>
